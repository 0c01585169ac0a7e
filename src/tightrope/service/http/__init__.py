"""The HTTP interface, one router per subject."""
