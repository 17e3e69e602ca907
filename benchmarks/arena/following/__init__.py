"""The plan follower: recorded actions in environments that others wrote, with what a memory shows as the only source."""
