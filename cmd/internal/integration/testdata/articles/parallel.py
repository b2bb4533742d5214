import asyncio
import os
from concurrent.futures import ThreadPoolExecutor

from servers.google_drive import get_document

print(sorted(name for name in os.listdir("servers") if os.path.isdir(f"servers/{name}") and not name.startswith((".", "_"))))
ids = ["abc123", "def456", "ghi789"]
with ThreadPoolExecutor() as pool:
    titles = [doc["title"] for doc in pool.map(lambda i: get_document(documentId=i), ids)]
print(titles)
docs = await asyncio.gather(*(asyncio.to_thread(get_document, documentId=i) for i in ids))
print([doc["title"] for doc in docs] == titles)
