"""Decisions over HTTP, with a log that is the truth; needs `pip install 'tightrope[service]'`."""
