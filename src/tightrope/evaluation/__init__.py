"""Off-policy evaluation: the value of another policy on a log, its uncertainty, and whether the
policy may be promoted."""
