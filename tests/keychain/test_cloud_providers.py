"""Cloud secret managers: AWS against moto, which checks the signature; Google and Azure against servers that check."""

import base64
import json
from http.client import HTTPConnection
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from noetl.keychain.providers.aws import Identity, signed
from noetl.secret import CredentialUnavailable, revealed
from noetl.testing.clocks import ClockByHand
from noetl.testing.http_server import Answer, running_api
from noetl.web.guard import target_of
from noetl.web.messages import Request
from tests.keychain.parts import PLANTED, declared, keychain

pytestmark = pytest.mark.slow

REGION = "eu-central-1"
FIELDS = json.dumps({"user": "app", "password": PLANTED})


# --- AWS -------------------------------------------------------------------------------------------------------------


class Aws:
    """A Secrets Manager that refuses whoever does not sign as its one user."""

    def __init__(self, url: str) -> None:
        import boto3  # a second that collecting the tests need not take

        self.url = url
        anybody = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}
        iam, secrets = (
            boto3.client(name, region_name=REGION, endpoint_url=url, **anybody) for name in ("iam", "secretsmanager")
        )
        iam.create_user(UserName="noetl")
        key = iam.create_access_key(UserName="noetl")["AccessKey"]
        allow = [{"Effect": "Allow", "Action": "secretsmanager:GetSecretValue", "Resource": "*"}]
        policy = json.dumps({"Version": "2012-10-17", "Statement": allow})
        iam.put_user_policy(UserName="noetl", PolicyName="read", PolicyDocument=policy)
        self.version = secrets.create_secret(Name="app/db", SecretString=FIELDS)["VersionId"]
        secrets.create_secret(Name="app/binary", SecretBinary=PLANTED.encode())
        self.environment = {
            "AWS_ACCESS_KEY_ID": key["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
            "AWS_REGION": REGION,
        }
        self.check_signatures_after("0")

    def check_signatures_after(self, count: str) -> None:
        where = urlsplit(self.url)
        connection = HTTPConnection(where.hostname or "", where.port)
        connection.request("POST", "/moto-api/reset-auth", body=count)
        assert connection.getresponse().status == 200
        connection.close()


@pytest.fixture(scope="module")
def aws():
    from moto.server import ThreadedMotoServer  # as above

    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    running = Aws(f"http://{host}:{port}")
    yield running
    running.check_signatures_after("inf")
    server.stop()


async def fetched(home, environment, settings, **declaration):
    async with keychain(home, environment, **settings) as chain:
        return revealed(dict(await chain.resolve(declared("db", **declaration))))


@pytest.mark.spec("KC-04")
async def test_a_secret_of_aws_is_asked_for_with_a_valid_signature(tmp_path, aws):
    settings = {"keychain_aws_url": aws.url}

    entry = await fetched(tmp_path, aws.environment, settings, provider="aws", secret="app/db")
    binary = await fetched(tmp_path, aws.environment, settings, provider="aws", secret="app/binary")

    assert (entry["user"], entry["password"], entry["version"]) == ("app", PLANTED, aws.version)
    assert binary["value"] == PLANTED


@pytest.mark.parametrize(
    ("changes", "secret", "reason"),
    [
        ({"AWS_SECRET_ACCESS_KEY": "another-secret-key"}, "app/db", ""),
        ({"AWS_ACCESS_KEY_ID": "AKIAANOTHER"}, "app/db", ""),
        ({}, "app/missing", "ResourceNotFoundException"),
    ],
)
async def test_aws_that_gives_no_secret_says_why_without_showing_a_key(tmp_path, aws, changes, secret, reason):
    environment = {**aws.environment, **changes}

    with pytest.raises(CredentialUnavailable) as raised:
        await fetched(tmp_path, environment, {"keychain_aws_url": aws.url}, provider="aws", secret=secret)

    assert f'AWS Secrets Manager in {REGION} (asked for "{secret}") answered HTTP 40' in str(raised.value)
    assert reason in str(raised.value)
    assert not raised.value.retryable
    assert environment["AWS_SECRET_ACCESS_KEY"] not in str(raised.value)


def test_a_signature_is_that_of_the_sdk():
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    keys = {"key_id": "AKIAEXAMPLE", "secret_key": "a/secret+key", "session_token": "a-session-token"}
    target = target_of("https://secretsmanager.eu-central-1.amazonaws.com")
    headers = {"content-type": "application/x-amz-json-1.1", "x-amz-target": "secretsmanager.GetSecretValue"}
    request = Request(method="POST", target=target, headers=headers, body=b'{"SecretId":"a"}')

    ours = signed(request, Identity(region=REGION, **keys), now=1_700_000_000)

    theirs = AWSRequest(
        "POST",
        target.url,
        headers={**headers, "host": target.host, "x-amz-security-token": "a-session-token"},
        data=request.body,
    )
    theirs.context["timestamp"] = "20231114T221320Z"
    theirs.headers["X-Amz-Date"] = "20231114T221320Z"
    signer = SigV4Auth(Credentials(keys["key_id"], keys["secret_key"], keys["session_token"]), "secretsmanager", REGION)
    to_sign = signer.string_to_sign(theirs, signer.canonical_request(theirs))
    assert ours.headers["authorization"].endswith(f"Signature={signer.signature(to_sign, theirs)}")


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({}, "needs a region"),
        ({"AWS_REGION": "evil.example.com/"}, "needs a region"),
        ({"AWS_REGION": REGION}, "needs AWS_ACCESS_KEY_ID"),
    ],
)
async def test_aws_that_is_not_set_up_says_what_is_missing(tmp_path, environment, message):
    with pytest.raises(LookupError, match=message):
        await fetched(tmp_path, environment, {}, provider="aws", secret="app/db")


# --- Google ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def api():
    with running_api() as running:
        yield running


@pytest.fixture(scope="module")
def private_key():
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def account_file(folder, api, key, **changes):
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    account = {
        "type": "service_account",
        "project_id": "shop",
        "private_key_id": "k1",
        "private_key": pem,
        "client_email": "noetl@shop.example",
        "token_uri": f"{api.url}/token",
        **changes,
    }
    file = folder / "account.json"
    file.write_text(json.dumps(account))
    return {"GOOGLE_APPLICATION_CREDENTIALS": str(file)}


def decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def payload(text: str, version: str = "7") -> Answer:
    data = base64.b64encode(text.encode()).decode()
    return Answer(json={"name": f"projects/1/secrets/db/versions/{version}", "payload": {"data": data}})


@pytest.mark.spec("KC-04")
async def test_a_secret_of_google_is_asked_for_with_a_token_for_a_signed_statement(tmp_path, api, private_key):
    api.script("/token", Answer(json={"access_token": "google-token", "expires_in": 3600}))
    api.script("/v1/projects/shop/secrets/db/versions/latest:access", payload(FIELDS))
    environment = account_file(tmp_path, api, private_key)

    entry = await fetched(tmp_path, environment, {"keychain_gcp_url": api.url}, provider="gcp", secret="db")

    assert (entry["user"], entry["password"], entry["version"]) == ("app", PLANTED, "7")
    (asked,) = api.requests("/v1/projects/shop/secrets/db/versions/latest:access")
    assert asked.headers["authorization"] == "Bearer google-token"
    head, claims, signature = parse_qs(api.requests("/token")[0].body)["assertion"][0].split(".")
    private_key.public_key().verify(decoded(signature), f"{head}.{claims}".encode(), padding.PKCS1v15(), SHA256())
    said = json.loads(decoded(claims))
    assert (said["iss"], said["aud"], said["exp"] - said["iat"]) == ("noetl@shop.example", f"{api.url}/token", 3600)


async def test_a_token_of_google_serves_for_many_secrets(tmp_path, api, private_key):
    api.script("/token", Answer(json={"access_token": "google-token", "expires_in": 3600}))
    for name in ("a", "b"):
        api.script(f"/v1/projects/other/secrets/{name}/versions/2:access", payload(name * 8))
    environment = account_file(tmp_path, api, private_key)

    async with keychain(tmp_path, environment, ClockByHand(), keychain_gcp_url=api.url) as chain:
        entries = [
            await chain.resolve(declared(provider="gcp", secret=name, project="other", version="2"))
            for name in ("a", "b")
        ]
        known = chain.known_secrets()

    assert [revealed(entry["value"]) for entry in entries] == ["a" * 8, "b" * 8]
    assert len(api.requests("/token")) == 1
    assert "google-token" in known


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"private_key": f"-----BEGIN {PLANTED}"}, "holds no RSA private key"),
        ({"private_key": None}, "must name the key file"),
        ({"token_uri": "ftp://example.com"}, "token_uri in the key file is no URL"),
    ],
)
async def test_a_key_file_of_google_that_does_not_serve_is_named(tmp_path, api, private_key, changes, message):
    environment = account_file(tmp_path, api, private_key, **changes)

    with pytest.raises(LookupError, match=message) as raised:
        await fetched(tmp_path, environment, {"keychain_gcp_url": api.url}, provider="gcp", secret="db")

    assert PLANTED not in str(raised.value)


# --- Azure -----------------------------------------------------------------------------------------------------------

AZURE = {"AZURE_TENANT_ID": "tenant", "AZURE_CLIENT_ID": "noetl", "AZURE_CLIENT_SECRET": "azure-s3cret"}


@pytest.mark.spec("KC-04")
async def test_a_secret_of_azure_is_asked_for_with_a_token_for_the_application(tmp_path, api):
    api.script("/tenant/oauth2/v2.0/token", Answer(json={"access_token": "azure-token", "expires_in": 3600}))
    api.script("/secrets/db", Answer(json={"value": FIELDS, "id": "https://team.vault.azure.net/secrets/db/v9"}))
    environment = {**AZURE, "AZURE_AUTHORITY_HOST": api.url}

    entry = await fetched(tmp_path, environment, {"keychain_azure_url": api.url}, provider="azure", secret="db")

    assert (entry["user"], entry["password"], entry["version"]) == ("app", PLANTED, "v9")
    (asked,) = api.requests("/secrets/db")
    assert (asked.headers["authorization"], asked.query) == ("Bearer azure-token", {"api-version": ["7.4"]})
    form = parse_qs(api.requests("/tenant/oauth2/v2.0/token")[0].body)
    assert (form["client_secret"], form["scope"]) == (["azure-s3cret"], ["https://vault.azure.net/.default"])


@pytest.mark.parametrize(
    ("status", "is_retryable"), [(401, False), (403, False), (404, False), (429, True), (500, True)]
)
async def test_azure_that_gives_no_secret_says_whether_another_attempt_may_help(tmp_path, api, status, is_retryable):
    api.script("/tenant/oauth2/v2.0/token", Answer(json={"access_token": "azure-token"}))
    api.script("/secrets/db", Answer(status=status, json={"error": {"message": PLANTED}}))
    environment = {**AZURE, "AZURE_AUTHORITY_HOST": api.url}

    with pytest.raises(LookupError) as raised:
        await fetched(tmp_path, environment, {"keychain_azure_url": api.url}, provider="azure", secret="db")

    assert getattr(raised.value, "retryable", False) is is_retryable
    assert PLANTED not in str(raised.value)
    assert "azure-s3cret" not in str(raised.value)
