"""The part of STATE-Bench's interface that the follower's loader asks for."""
