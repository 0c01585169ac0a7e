"""What another policy would have earned on a log, how sure that is, and whether it may be promoted."""
