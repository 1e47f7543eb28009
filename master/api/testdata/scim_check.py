"""Runs the checks of scim2-tester against a master, and prints each result as a line of JSON.

python3 scim_check.py ADDRESS TOKEN
"""

import json
import sys

from httpx2 import Client
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import check_server

address, token = sys.argv[1:]
with Client(base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=60) as http:
    for result in check_server(SyncSCIMClient(http)):
        said = {
            "status": result.status.name,
            "title": result.title or "",
            "resource": result.resource_type or "",
            "reason": result.reason or "",
        }
        print(json.dumps(said), flush=True)
