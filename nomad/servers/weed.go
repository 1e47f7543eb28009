package servers

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
)

// WeedReady returns an error while SeaweedFS cannot store objects: its volume server registers with its master, whose
// address this is, some time after its S3 gateway answers.
func WeedReady(ctx context.Context, master string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, master+"/dir/status", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var status struct{ Topology struct{ Max int } }
	if err := json.NewDecoder(resp.Body).Decode(&status); err != nil {
		return err
	}
	if status.Topology.Max == 0 {
		return errors.New("its volume server has not registered yet")
	}
	return nil
}
