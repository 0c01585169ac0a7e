"""Arms with a metric and a known Lipschitz constant."""
