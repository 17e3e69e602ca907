"""mage in the tools that people already use: one module each, one extra each, thin over `Memory` or `Session`.

Nothing is imported here, so that none waits for the packages of another.
"""

__all__ = ()
