package mlflow

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/server/servertest"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

// against runs a script of testdata against a tracking server, and fails if the script does.
func against(t *testing.T, server, token, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), python(t), append([]string{"testdata/" + name, server}, args...)...)
	cmd.Env = append(os.Environ(), "MLFLOW_TRACKING_TOKEN="+token, "MLFLOW_HTTP_REQUEST_MAX_RETRIES=1", "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR=false",
		"MLFLOW_LOGGING_LEVEL=WARNING", "MLFLOW_DISABLE_TELEMETRY=true", "DO_NOT_TRACK=true", "GIT_PYTHON_REFRESH=quiet", "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, tail(string(out)))
	}
}

// ours is the tracking server of a master.
func ours(m *servertest.Master) string { return m.Address() + "/mlflow" }

// TestScriptsHoldForMLflowsServer: what the scripts want is what MLflow's own server does.
func TestScriptsHoldForMLflowsServer(t *testing.T) {
	turn.Second(t)
	server := theirs(t)
	against(t, server, "", "files.py", "theirs")
	against(t, server, "", "models.py", "theirs")
}

// TestFilesByMLflowsClient: the files that MLflow's client logs are in the folder of the checkpoint storage.
func TestFilesByMLflowsClient(t *testing.T) {
	m := servertest.Start(t, nil)
	c := m.Client("determined")
	against(t, ours(m), c.Token(), "files.py", "determined")
}

// TestModelsByMLflowsClient: models that runs log, and the registry, by MLflow's client. What others have registered is there for it, and
// what it registers is there for others.
func TestModelsByMLflowsClient(t *testing.T) {
	const uuid = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
	m := servertest.Start(t, func(ctx context.Context, a *servertest.Attempt) int {
		if a.TrialID != 0 {
			a.Checkpoint(ctx, uuid, 1, time.Now(), map[string]string{"weights.bin": "native"})
		}
		return 0
	})
	c := m.Client("determined")
	config, yes := "name: native\nentrypoint: python3 -V\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\n", true
	made, err := c.CreateExperiment(t.Context(), v1.CreateExperimentRequest{Config: &config, Activate: &yes}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Ended(made.Experiment.ID)
	me := caller{t, m, c.Token()}
	me.want(200, "POST", "/api/v1/models", `{"name":"native","metadata":{"from":"det"}}`)
	me.want(200, "POST", "/api/v1/models/native/versions", `{"checkpointUuid":"`+uuid+`"}`)
	against(t, ours(m), c.Token(), "models.py", "determined", "native")
	if text := strings.ReplaceAll(me.want(200, "GET", "/api/v1/models/determined%20line", ""), ": ", ":"); !strings.Contains(text, `"numVersions":2`) || !strings.Contains(text, `"team":"a"`) {
		t.Error(text)
	}
	text := me.want(200, "GET", "/api/v1/models/determined%20line/versions/1", "")
	if !strings.Contains(text, `"MLmodel":`) || !strings.Contains(text, `"comment":"the first"`) || !strings.Contains(text, `"logged":"model"`) {
		t.Error(text)
	}
}
