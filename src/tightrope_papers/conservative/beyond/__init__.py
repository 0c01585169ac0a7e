"""Beyond the paper, whose rewards come at once: late rewards and open decisions."""
