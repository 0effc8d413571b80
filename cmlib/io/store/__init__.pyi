from .building import rebuild, refresh
from .database import SCHEMA, default_url, without_password
from .errors import StoreError
from .reading import is_current, load, machines, provenances, refused, runs
