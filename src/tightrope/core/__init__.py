"""What a policy and a problem are: verbs, fields, registry, checks, random streams."""
