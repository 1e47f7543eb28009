package containers

import (
	"archive/tar"
	"bytes"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/plugins/notice/cloud/cloudtest"
)

// cloudNotices: det-notice in a container with nothing but the program, under an account that is not root, reaches
// the metadata service on the node's network and Nomad through its socket.
func (d *inContainers) cloudNotices(t *testing.T) {
	program, err := os.ReadFile(filepath.Join(d.Bin, "det-notice"))
	if err != nil {
		t.Fatal(err)
	}
	var root bytes.Buffer
	w := tar.NewWriter(&root)
	err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "bin/det-notice", Mode: 0o755, Size: int64(len(program))})
	_, wrote := w.Write(program)
	if err := errors.Join(err, wrote, w.Close(), d.docker.Import(t.Context(), "detent-test/notice", "1", &root, "ENV PATH=/bin")); err != nil {
		t.Fatal(err)
	}
	machine := cloudtest.New("azure", "gpu_7")
	server := httptest.NewServer(machine)
	defer server.Close()
	d.RunNotice(t, map[string]string{"driver": "docker", "image": "detent-test/notice:1", "metadata": server.URL})
	machine.Set(cloudtest.Fate{Events: []cloudtest.Event{{EventID: "1", EventType: "Preempt", EventStatus: "Scheduled", Resources: []string{"gpu_7"}, NotBefore: "Fri, 01 Jan 2100 00:00:00 GMT"}}})
	why := func() string {
		return rig.Value[string](t, d.Rig, `SELECT coalesce(min(inventory->'Facts'->>'meta.detent.leaving.why'), '') FROM nodes`)
	}
	rig.Eventually(t, "the masters have the notice", func() (bool, error) {
		return why() == "det-notice: Azure evicts the spot machine", nil
	})
	machine.Set(cloudtest.Fate{})
	rig.Eventually(t, "the notice is withdrawn", func() (bool, error) { return why() == "", nil })
}
