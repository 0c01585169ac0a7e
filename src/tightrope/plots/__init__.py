"""Pictures as functions of numbers."""
