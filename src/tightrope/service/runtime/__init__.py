"""The running service without its HTTP: the writer's thread, its commands, leases, keys, settings, telemetry."""
