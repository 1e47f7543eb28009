package clients

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
)

// followingScript follows projects, models and versions with Determined's own streaming client: what
// is there, what changes, what is deleted, and what it missed while it was away.
const followingScript = `
from determined.common import streams
from determined.common.streams import _client
from determined.experimental import client

client.login(user="determined", password="")
sess = client._determined._session

def post(path, body):
    return sess.post(path, json=body).json()

team = post("/api/v1/workspaces", {"name": "followers"})["workspace"]["id"]
first = post(f"/api/v1/workspaces/{team}/projects", {"name": "first"})["project"]["id"]
model = client.create_model("followed", description="of digits")

def until(stream, fits):
    for _ in range(20):
        got = next(stream)
        if fits(got):
            return got
    raise AssertionError("20 messages, and not the expected one")

ws = streams.LomondStreamWebSocket(sess)
with streams.Stream(ws) as stream:
    stream.subscribe(sync_id="mine", projects=streams.ProjectSpec(workspace_id=team), models=_client.ModelSpec(model_id=model.model_id))
    assert next(stream) == streams.Sync("mine", False)
    p = next(stream)
    assert (p.id, p.name, p.workspace_id, p.archived, p.state) == (first, "first", team, False, "UNSPECIFIED"), p
    m = next(stream)
    assert (m.id, m.name, m.description) == (model.model_id, "followed", "of digits"), m
    assert next(stream) == streams.Sync("mine", True)

    model.set_description("of flowers")
    m = until(stream, lambda x: isinstance(x, streams.wire.ModelMsg))
    assert m.description == "of flowers", m
    second = post(f"/api/v1/workspaces/{team}/projects", {"name": "second"})["project"]["id"]
    p = until(stream, lambda x: isinstance(x, streams.wire.ProjectMsg))
    assert p.id == second, p
    sess.delete(f"/api/v1/projects/{second}")
    gone = until(stream, lambda x: isinstance(x, streams.wire.DeleteMsg))
    assert gone.keys == str(second), gone

    # The connection breaks. The client opens another by itself, and is sent what it missed, once.
    ws.ws.close()
    model.set_description("read me")
    m = until(stream, lambda x: isinstance(x, streams.wire.ModelMsg))
    assert m.description == "read me", m
    model.delete()
    gone = until(stream, lambda x: isinstance(x, streams.wire.DeleteMsg))
    assert gone.keys == str(model.model_id), gone
print("followed")
`

// TestDeterminedsStream: Determined's streaming client against this master.
func TestDeterminedsStream(t *testing.T) {
	r := rig.Start(t)
	u := rig.Person{R: r, Python: rig.DeterminedPython(t), Home: t.TempDir()}
	if stdout, stderr, exit := u.Run(t, "", u.Python, "-c", followingScript); exit != 0 || !strings.Contains(stdout, "followed") {
		t.Fatalf("exit %d\n%s%s", exit, stdout, stderr)
	}
}
