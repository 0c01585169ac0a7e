"""`python -m tightrope`."""

from .cli import main

main()
