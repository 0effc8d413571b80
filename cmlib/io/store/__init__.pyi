from .building import rebuild as rebuild, refresh as refresh
from .database import SCHEMA as SCHEMA
from .errors import StoreError as StoreError
from .reading import (
    is_current as is_current,
    load as load,
    machines as machines,
    provenances as provenances,
    refused as refused,
    runs as runs,
)
from .urls import default_url as default_url, without_password as without_password
