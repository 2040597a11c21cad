"""A worker as a process: ``python -P -m querymill_workers worker -Q search,expand,rerank``.

Celery's own ``-A querymill_workers.app`` looks for every module in the working folder first, where a file ``redis.py``
that has nothing to do with it stands in the way.
"""

import sys

from querymill_workers.app import app

if __name__ == "__main__":
    sys.exit(app.start(sys.argv[1:]))
