"""Compiled code of peer-to-peer FedUCB."""
