"""Algorithm 1 in TLA+, and what runs TLC on it: the models, the controls that must fail, and the tool."""
