from tests.system.conftest import board_client, database, deployment, filings, mill, worker

__all__ = ["board_client", "database", "deployment", "filings", "mill", "worker"]
