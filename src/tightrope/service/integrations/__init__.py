"""Other systems' shapes: Azure Personalizer's calls, OpenFeature's provider."""
