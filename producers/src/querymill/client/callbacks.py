"""Whether a callback may be asked for, before anything is enqueued. The worker that calls checks the address again."""

from querymill_shared.callback_addresses import is_listed, read_address
from querymill_shared.contracts.errors import InvalidRequest
from querymill_shared.contracts.submit_options import SubmitOptions
from querymill_shared.settings import Settings


def check_callback(options: SubmitOptions, settings: Settings) -> None:
    """Check that a callback, if one is asked for, is at a listed address and can be signed.

    Raises:
        InvalidRequest: It is not.
    """
    if options.callback is None:
        return
    address, origins = read_address(options.callback.url), settings.querymill_callback_origins
    if not origins:
        raise InvalidRequest(("callback", "no address may be called: QUERYMILL_CALLBACK_ORIGINS lists none"))
    if not is_listed(address, origins):
        raise InvalidRequest(("callback.url", f"{address.origin} is not listed in QUERYMILL_CALLBACK_ORIGINS"))
    if not settings.querymill_callback_secret.get_secret_value():
        raise InvalidRequest(("callback", "cannot be signed: QUERYMILL_CALLBACK_SECRET is not set"))
