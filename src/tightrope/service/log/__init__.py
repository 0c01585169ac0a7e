"""The log of events: sealed entries in a database, snapshots, replay, verification, export, erasure."""
