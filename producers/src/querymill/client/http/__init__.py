"""The client over HTTP (extra `http`): the same jobs through a gateway, without the board's own client."""
