package dockerd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Load loads images from a file of `docker save`, of a release or of package images.
func (d *Docker) Load(ctx context.Context, file io.Reader) error {
	return d.give(ctx, "load images", "/images/load?quiet=1", file)
}

// Build makes an image from a tar with a Dockerfile.
func (d *Docker) Build(ctx context.Context, name string, files io.Reader) error {
	return d.give(ctx, "build the image "+name, "/build?"+url.Values{"t": {name}, "q": {"1"}}.Encode(), files)
}

// give sends a tar; the answer is a stream of messages, one of which may be an error.
func (d *Docker) give(ctx context.Context, what, path string, file io.Reader) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://docker"+path, file)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-tar")
	resp, err := d.client().Do(req)
	if err != nil {
		return fmt.Errorf("cannot %s: %w", what, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || bytes.Contains(text, []byte(`"error"`)) {
		return fmt.Errorf("cannot %s: %s: %s", what, resp.Status, text)
	}
	return nil
}

// Run runs a command in a new container, removes the container, and returns the command's output.
func (d *Docker) Run(ctx context.Context, image string, command ...string) (output string, exit int, err error) {
	var made struct{ ID string }
	body := map[string]any{"Image": image, "Cmd": command, "Tty": true, "HostConfig": map[string]any{"NetworkMode": "none"}}
	if err := d.send(ctx, "/containers/create", body, &made); err != nil {
		return "", 0, err
	}
	path := "/containers/" + made.ID
	defer func() {
		err = errors.Join(err, d.call(context.WithoutCancel(ctx), http.MethodDelete, path, url.Values{"force": {"1"}}, nil))
	}()
	if err := d.call(ctx, http.MethodPost, path+"/start", nil, nil); err != nil {
		return "", 0, err
	}
	var ended struct{ StatusCode int }
	if err := d.call(ctx, http.MethodPost, path+"/wait", nil, &ended); err != nil {
		return "", 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://docker"+path+"/logs?stdout=1&stderr=1", nil)
	if err != nil {
		return "", 0, err
	}
	resp, err := d.client().Do(req)
	if err != nil {
		return "", 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return string(text), ended.StatusCode, err
}

func (d *Docker) send(ctx context.Context, path string, body, out any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://docker"+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := d.client().Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("docker: %s: %s: %s", path, resp.Status, answer)
	}
	return json.Unmarshal(answer, out)
}
