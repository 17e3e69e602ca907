"""What a durable step, a journal on disk and its opening cost, beside others that keep the same; see ../README.md."""
