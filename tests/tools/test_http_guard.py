"""Kind http and forbidden addresses: however they are spelled, nobody is connected to (SSRF)."""

import sys

import pytest

from noetl.testing.hands import call, hands, run
from noetl.testing.http_server import Answer, running_api
from noetl.tools import http
from noetl.tools.contract import ToolSettings
from noetl.tools.http_tool import HttpTool
from noetl.web.guard import Guard, Refused, target_of
from tests.tools.http_parts import http_tool, raw_server, response, saying

CLUSTER = ToolSettings(is_loopback_allowed=False)
EVERYTHING = ToolSettings(http_allow=("0.0.0.0/0", "::/0", "169.254.169.254", "fd00:ec2::254"))

LOOPBACK = """
127.0.0.1 127.0.0.1. 127.1 127.0.1 127.1. 2130706433 0x7f000001 0X7F000001 0x7F.0.0.1 0x7f.1 0x7f.0x0.0x0.0x1 0177.0.0.1
0177.1 017700000001 00000177.0.0.1 127.000.000.001 0x7f.0.0x0.01 0177.0x0.0.1 127.0x000001 127.0.0.1@127.0.0.1
example.com@127.0.0.1 127.0.0.1#@example.com example.com:80@127.0.0.1 user:pass@127.0.0.1 evil\\@127.0.0.1
169.254.169.254@127.1 127.0.0.2 127.255.255.254 127.127.127.127 １２７.0.0.1 127。0。0。1 127．0．0．1 127｡0｡0｡1
①②⑦.⓪.⓪.① ⑫7.0.0.1 𝟏𝟐𝟕.𝟎.𝟎.𝟏 𝟭𝟮𝟳.𝟬.𝟬.𝟭 ０ｘ7f.1 ２１３０７０６４３３
[::1] [0:0:0:0:0:0:0:1] [0000::0001] [0:0::1] [::0:1] [::0.0.0.1] [::ffff:127.0.0.1] [::FFFF:7F00:1] [::ffff:7f00:1]
[0:0:0:0:0:ffff:127.0.0.1] [::ffff:127.255.255.254] [::127.0.0.1] [::7f00:1] [64:ff9b::7f00:1] [64:ff9b::127.0.0.1]
[64:FF9B:0:0:0:0:7F00:1] [2002:7f00:1::] [2002:7f00:0001::1] [2002:7F00:1:ffff::1] [2001:0:7f00:1::80ff:fffe]
localhost LOCALHOST LocalHost localhost. ｌｏｃａｌｈｏｓｔ ⓛocalhost
""".split()
METADATA = """
169.254.169.254 169.254.169.254. 2852039166 0xA9FEA9FE 0Xa9fea9fe 0xa9.0xfe.0xa9.0xfe 0251.0376.0251.0376
0251.254.169.254 00251.0376.0251.0376 169.254.43518 169.16689662 0xa9.16689662 169.0376.0xa9fe 025177524776
１６９.254.169.254 169。254。169。254 169．254．169．254 169｡254｡169｡254 ①⑥⑨.②⑤④.①⑥⑨.②⑤④ 𝟏𝟔𝟗.254.169.254
２８５２０３９１６６
example.com@169.254.169.254 169.254.169.254#@example.com user:pass@169.254.169.254 127.0.0.1@169.254.169.254
[::ffff:169.254.169.254] [::FFFF:A9FE:A9FE] [::ffff:a9fe:a9fe] [0:0:0:0:0:ffff:169.254.169.254] [::169.254.169.254]
[::a9fe:a9fe] [64:ff9b::a9fe:a9fe] [64:ff9b::169.254.169.254] [2002:a9fe:a9fe::] [2002:A9FE:A9FE::1]
[2001:0:4136:e378:8000:63bf:5601:5601] [fd00:ec2::254] [FD00:EC2::254] [fd00:0ec2:0:0:0:0:0:0254] [fd00:ec2:0::254]
100.100.100.200 0x646464c8 1684301000 192.0.0.192 0xC00000C0 168.63.129.16 0xa83f8110 2822734096
""".split()
NEVER = """
169.254.0.1 [fe80::1] [fe80::1%25eth0] [fe80::a9fe:a9fe%251] 0 0.0.0.0 0x0 00 000.000 0.0 [::] [::ffff:0.0.0.0] [0::0]
224.0.0.1 239.255.255.250 [ff02::1] 255.255.255.255 240.0.0.1
""".split()
PRIVATE = (
    "10.0.0.1 172.16.0.1 192.168.1.1 100.64.0.1 [fc00::1] [fd12::1] 192.168.257 0xC0A80101 [::ffff:10.0.0.1]".split()
)


def url_with(host: str, port: int) -> str:
    """The spelling as the host of a URL; what follows a # in it stays behind the port."""
    host, mark, fragment = host.partition("#")
    return f"http://{host}:{port}/{mark}{fragment}"


def test_there_are_enough_spellings_of_each():
    assert len(set(LOOPBACK)) >= 60
    assert len(set(METADATA)) >= 40
    assert len({*LOOPBACK, *METADATA}) == len(LOOPBACK) + len(METADATA)


class Connections:
    """Counts the connections that this process begins, whatever library it is that does."""

    def __init__(self) -> None:
        self.is_counting = False
        self.begun: list[object] = []
        sys.addaudithook(self._heard)  # one for the life of the process: there is no way to take it off

    def _heard(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.is_counting and event == "socket.connect":
            self.begun.append(arguments[1])


@pytest.fixture(scope="module")
def all_connections():
    return Connections()


@pytest.fixture
def connections(all_connections):
    all_connections.begun.clear()
    all_connections.is_counting = True
    yield all_connections.begun
    all_connections.is_counting = False


async def test_no_spelling_of_loopback_is_connected_to(connections):
    outputs = {}
    async with raw_server(saying(response(b"reached"))) as server, http_tool(settings=CLUSTER) as send:
        for host in LOOPBACK:
            outputs[host] = await send(url_with(host, server.port))

    wrong = {
        host: output for host, output in outputs.items() if not output.error or output.error.kind != "client_error"
    }
    assert wrong == {}
    assert (server.connection_count, connections) == (0, [])
    assert all("NOETL_HTTP_ALLOW" in output.error.message for output in outputs.values())


async def test_spellings_of_loopback_are_connected_to_where_it_is_allowed(connections):
    async with raw_server(saying(response(b"reached"))) as server, http_tool() as send:
        output = await send(url_with("0x7f.1", server.port))

    assert output.data == "reached"
    assert (server.connection_count, connections) == (1, [("127.0.0.1", server.port)])


@pytest.mark.parametrize("settings", [CLUSTER, EVERYTHING], ids=["cluster", "everything allowed"])
async def test_no_spelling_of_a_metadata_service_is_ever_connected_to(connections, settings):
    outputs = {}
    async with http_tool(settings=settings) as send:
        for host in METADATA:
            outputs[host] = await send(url_with(host, 80), connect_seconds=1)

    wrong = {
        host: output for host, output in outputs.items() if not output.error or output.error.kind != "client_error"
    }
    assert wrong == {}
    assert connections == []


@pytest.mark.parametrize("host", NEVER)
async def test_link_local_multicast_and_unspecified_are_never_asked(connections, host):
    everything = ToolSettings(http_allow=("0.0.0.0/0", "::/0", host.strip("[]")))

    async with raw_server(saying(response(b"reached"))) as server, http_tool(settings=everything) as send:
        output = await send(url_with(host, server.port), connect_seconds=1)

    assert (output.error.kind, output.error.retryable) == ("client_error", False)
    assert (server.connection_count, connections) == (0, [])


@pytest.mark.parametrize("host", PRIVATE)
async def test_private_networks_are_not_asked_unless_allowed(host):
    async with http_tool() as send:
        output = await send(url_with(host, 80), connect_seconds=1)

    assert output.error.kind == "client_error"
    assert "a private network" in output.error.message
    assert "NOETL_HTTP_ALLOW" in output.error.message


@pytest.mark.parametrize(
    "host",
    [
        "[127.0.0.1]",
        "127.0.0.1%00",
        "127%2e0%2e0%2e1",
        "%31%32%37.0.0.1",
        "[::1%25lo]x",
        "169%2e254.169.254",
        "a b",
        "-x",
        "127.0.0.1,example.com",
        "é" * 70,
    ],
)
async def test_a_host_that_is_none_is_refused(host):
    async with raw_server(saying(response(b"reached"))) as server, http_tool(settings=CLUSTER) as send:
        output = await send(url_with(host, server.port))

    assert output.error.kind == "client_error"
    assert server.connection_count == 0


@pytest.mark.parametrize("allow", ["127.0.0.1", "127.0.0.0/8", "0.0.0.0/0"])
async def test_what_the_operator_allows_is_asked(allow):
    settings = ToolSettings(is_loopback_allowed=False, http_allow=(allow,))
    async with raw_server(saying(response(b"reached"))) as server, http_tool(settings=settings) as send:
        output = await send(url_with("127.1", server.port))

    assert output.data == "reached"


@pytest.mark.parametrize("allow", ["localhost", "LOCALHOST."])
async def test_an_allowed_name_may_be_local_and_its_address_by_itself_may_not(allow):
    settings = ToolSettings(is_loopback_allowed=False, http_allow=(allow,))
    async with raw_server(saying(response(b"reached"))) as server, http_tool(settings=settings) as send:
        named = await send(url_with("LocalHost", server.port))
        bare = await send(url_with("127.0.0.1", server.port))

    assert named.data == "reached"
    assert bare.error.kind == "client_error"


async def test_a_name_is_looked_up_once_and_one_forbidden_address_is_enough():
    asked = []

    async def rebinding(host, port):
        asked.append(host)
        return ["93.184.216.34", "127.0.0.1"] if len(asked) == 1 else ["127.0.0.1"]

    async with raw_server(saying(response(b"reached"))) as server:
        tool = HttpTool(hands(settings=CLUSTER), lookup=rebinding)
        output = await run(tool, call(http.KIND, url=url_with("rebind.example.com", server.port)))
        await tool.close()

    assert output.error.kind == "client_error"
    assert asked == ["rebind.example.com"]
    assert server.connection_count == 0


async def test_the_address_that_was_judged_is_the_one_connected_to_and_the_name_is_kept():
    async def local(host, port):
        return ["127.0.0.1"]

    with running_api() as api:
        port = int(api.url.rpartition(":")[2])
        tool = HttpTool(hands(), lookup=local)
        output = await run(tool, call(http.KIND, url=url_with("api.example.com", port) + "echo"))
        await tool.close()

    assert output.data["headers"]["host"] == f"api.example.com:{port}"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_to_a_forbidden_address_is_not_followed(status):
    with running_api() as api:
        api.script("/away", Answer(status=status, headers={"Location": "http://169.254.169.254/latest/meta-data"}))
        async with http_tool() as send:
            output = await send(f"{api.url}/away")

        assert output.error.kind == "client_error"
        assert len(api.requests()) == 1


async def test_a_chain_of_redirects_is_checked_at_each_hop():
    async with raw_server(saying(response(b"reached"))) as hidden:
        with running_api() as api:
            api.script("/1", Answer(status=302, headers={"Location": "/2"}))
            api.script("/2", Answer(status=302, headers={"Location": f"http://0x7f.0.0.2:{hidden.port}/"}))
            settings = ToolSettings(is_loopback_allowed=False, http_allow=("127.0.0.1",))
            async with http_tool(settings=settings) as send:
                output = await send(f"{api.url}/1")

            assert [seen.path for seen in api.requests()] == ["/1", "/2"]
    assert output.error.kind == "client_error"
    assert hidden.connection_count == 0


async def test_five_redirects_are_followed_and_a_sixth_is_not():
    with running_api() as api:
        for number in range(6):
            api.script(f"/{number}", Answer(status=302, headers={"Location": f"/{number + 1}"}))
        api.script("/6", Answer(json="end"))
        async with http_tool() as send:
            five = await send(f"{api.url}/1")
            six = await send(f"{api.url}/0")

    assert (five.data, five.helpers["http"]["url"]) == ("end", f"{api.url}/6")
    assert six.error.kind == "client_error"
    assert "more than 5 times" in six.error.message


async def test_a_redirect_can_be_left_alone():
    with running_api() as api:
        api.script("/away", Answer(status=302, json="here", headers={"Location": "/echo"}))
        async with http_tool() as send:
            output = await send(f"{api.url}/away", spec={"follow_redirects": False})

    assert (output.data, output.helpers["http"]["status"]) == ("here", 302)


@pytest.mark.parametrize(
    ("status", "method", "becomes"),
    [(301, "POST", "GET"), (302, "POST", "GET"), (303, "PUT", "GET"), (307, "POST", "POST"), (308, "PUT", "PUT")],
)
async def test_a_redirect_keeps_or_drops_method_and_body_as_its_status_says(status, method, becomes):
    with running_api() as api:
        api.script("/away", Answer(status=status, headers={"Location": "/echo"}))
        async with http_tool() as send:
            output = await send(f"{api.url}/away", method=method, json={"a": 1})

    assert output.data["method"] == becomes
    assert output.data["json"] == (None if becomes == "GET" else {"a": 1})


async def test_what_signs_in_at_one_origin_is_not_shown_to_another():
    credentials = {"api": {"key": "planted-s3cret", "header": "X-Key"}}
    with running_api() as first, running_api() as second:
        first.script("/near", Answer(status=307, headers={"Location": "/echo"}))
        first.script("/far", Answer(status=307, headers={"Location": f"{second.url}/echo"}))
        async with http_tool(credentials=credentials) as send:
            headers = {"Authorization": "Bearer mine", "Cookie": "a=b", "X-Other": "stays"}
            near = await send(f"{first.url}/near", auth="api", headers=headers)
            far = await send(f"{first.url}/far", auth="api", headers=headers)

    kept = ("x-key", "authorization", "cookie", "x-other")
    assert [name for name in kept if name in near.data["headers"]] == list(kept)
    assert [name for name in kept if name in far.data["headers"]] == ["x-other"]


async def test_proxies_of_the_environment_are_not_used(monkeypatch):
    async with raw_server(saying(response(b"the proxy"))) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        async with raw_server(saying(response(b"direct"))) as server, http_tool() as send:
            output = await send(server.url)

    assert output.data == "direct"
    assert proxy.connection_count == 0


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_public_addresses_are_allowed(address):
    guard = Guard((), is_loopback_allowed=False)

    guard.check("example.com", address)

    with pytest.raises(Refused):
        guard.check("example.com", "10.0.0.1")


def test_a_url_is_put_together_again_without_user_and_password():
    target = target_of("HTTPS://Me:p%40ss@API.Example.com:443/a/b?c=d#e")

    assert target.url == "https://api.example.com/a/b?c=d"
    assert (target.user, target.password) == ("Me", "p@ss")
