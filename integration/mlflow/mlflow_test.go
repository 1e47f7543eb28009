// Package mlflow tests MLflow's interface of the master with MLflow's own client, beside MLflow's own server on the same PostgreSQL.
package mlflow

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/server/servertest"
	v1 "github.com/detent-ml/detent/master/v1"
)

func TestPlay(t *testing.T) {
	m := servertest.Start(t, nil)
	c := m.Client("determined")
	_ = v1.Login
	_ = c
	cmd := exec.Command(os.Getenv("MLPY"), "testdata/calls.py", "http://"+strings.TrimPrefix(m.Address(), "http://")+"/mlflow", "one")
	cmd.Env = append(os.Environ(), "MLFLOW_TRACKING_TOKEN="+c.Token(), "MLFLOW_HTTP_REQUEST_MAX_RETRIES=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	fmt.Println(out.String(), err)
}
