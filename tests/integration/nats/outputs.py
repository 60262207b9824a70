"""Parts of an output, as tests compare them."""


def error_of(output):
    assert output.error is not None, output.data
    return output.error.kind, output.error.message


def helper(output, name):
    assert output.error is None, output.error
    return output.helpers["nats"][name]
