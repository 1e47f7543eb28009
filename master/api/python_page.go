package api

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"html/template"
	"io/fs"

	"github.com/detent-ml/detent/docs/python"
	"github.com/detent-ml/detent/master/fault"
)

//go:embed python_page.html
var pythonTemplate string

// pythonFrame is the frame of all pages. It is parsed once, because anybody can request these pages.
var pythonFrame = template.Must(template.New("page").Parse(pythonTemplate))

// pythonPage shows the reference of the Python package: a module's page, or the list of all.
func (a *API) pythonPage(_ context.Context, c *call) error {
	module := c.Params("module")
	page, err := python.Read(module)
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.NotFound, "the Python package has no public module %s; %s lists all", module, python.Path)
	}
	if err != nil {
		return err
	}
	var b bytes.Buffer
	err = pythonFrame.Execute(&b, map[string]any{"Page": page, "Module": module, "List": python.Path, "Version": a.cfg.DetentVersion})
	if err != nil {
		return err
	}
	return a.sendDocs(c, b.Bytes())
}
