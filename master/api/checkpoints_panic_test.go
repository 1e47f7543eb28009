package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/expconf"
)

// panicking is a bucket in which every call panics.
type panicking struct{ *memoryBucket }

func (panicking) Get(context.Context, string) (io.ReadCloser, checkpoints.Object, error) {
	panic("oh no, bucket")
}

// A panic while a checkpoint is packed breaks that download off, and the master continues.
func TestAPanicInADownload(t *testing.T) {
	bucket := &memoryBucket{objects: map[string]string{}}
	r := newRig(t, func(c *Config) {
		c.Bucket = func(context.Context, expconf.CheckpointStorage) (checkpoints.Bucket, error) {
			return panicking{bucket}, nil
		}
	})
	a := r.running(bucketStorage(""), 1)
	const id = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
	a.ranks[0].post("/api/v1/checkpoints", fmt.Sprintf(`{"uuid":%q,"taskId":%q,"allocationId":%q,"state":"STATE_COMPLETED","metadata":{},"resources":{"model.bin":"5"},"training":{}}`,
		id, a.task, a.id)).ok()
	bucket.objects[fmt.Sprintf("%d/%s/model.bin", a.exp, id)] = "12345"
	me := r.user("determined")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/checkpoints/"+id, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(me.header, me.token)
	resp, err := r.client.Do(req)
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		err = errors.Join(err, resp.Body.Close())
	}
	if err == nil {
		t.Errorf("a download that broke off looks whole: %d", resp.StatusCode)
	}
	if !strings.Contains(r.log.String(), "oh no, bucket") {
		t.Error("the panic is not in the log")
	}
	me.get("/api/v1/me").ok()
}
