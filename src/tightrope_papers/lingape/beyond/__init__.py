"""Beyond the paper: later rules on its problems, and long runs by sufficient statistics."""
