"""A server of large bodies: /rows is a file, /body so many bytes, /small a few. Prints its URL."""

import asyncio
import sys
from pathlib import Path

from aiohttp import web

PIECE = 256 * 1024


async def rows(request: web.Request) -> web.StreamResponse:
    return web.FileResponse(request.app["file"], headers={"Content-Type": "application/x-ndjson"}, chunk_size=PIECE)


async def body(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/octet-stream"})
    response.content_length = request.app["size"]
    await response.prepare(request)
    piece = bytes(range(256)) * (PIECE // 256)
    for _ in range(request.app["size"] // PIECE):
        await response.write(piece)
    return response


async def small(request: web.Request) -> web.StreamResponse:
    return web.json_response({"ok": True})


async def serve() -> None:
    app = web.Application()
    app["file"], app["size"] = Path(sys.argv[1]), int(sys.argv[2])
    app.add_routes([web.get("/rows", rows), web.get("/body", body), web.get("/small", small)])
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.Event().wait()


asyncio.run(serve())
