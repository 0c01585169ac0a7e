"""Other systems: OpenFeature's provider."""
