"""The arena: memory systems beside each other on runs that others recorded. It uses the public names of mage alone."""
