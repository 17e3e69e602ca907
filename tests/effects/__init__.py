"""What is asked of models and environments, and what environments say of themselves."""
