package about

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"html/template"
	"io/fs"

	"github.com/detent-ml/detent/docs/python"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
)

//go:embed python_page.html
var pythonTemplate string

// pythonFrame is the frame of all pages. It is parsed once, because anybody can request these pages.
var pythonFrame = template.Must(template.New("page").Parse(pythonTemplate))

// pythonPage shows the reference of the Python package: a module's page, or the list of all.
func (m *master) pythonPage(_ context.Context, c *rest.Call) error {
	module := c.Param("module")
	page, err := python.Read(module)
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.NotFound, "the Python package has no public module %s; %s lists all", module, python.Path)
	}
	if err != nil {
		return err
	}
	var b bytes.Buffer
	err = pythonFrame.Execute(&b, map[string]any{"Page": page, "Module": module, "List": python.Path, "Version": m.DetentVersion})
	if err != nil {
		return err
	}
	c.SendDocs(b.Bytes())
	return nil
}
