"""What the engine costs, beside a mutable tree written by hand; see README.md."""
