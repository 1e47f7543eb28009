package release

import (
	"context"
	"os"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// bom writes the bill of materials: the modules and packages of the programs and the pages, read
// from the programs themselves and from the lock file of the pages.
func (b *builder) bom(_ context.Context) error {
	var programs []string
	for _, t := range b.Servers {
		for name := range sources {
			if path := b.program(name, t); exists(path) {
				programs = append(programs, path)
			}
		}
	}
	for _, t := range b.Clients {
		programs = append(programs, b.program("det", t))
	}
	linked, err := linkedModules(programs)
	if err != nil {
		return err
	}
	packages, err := bundledPackages(b.Root)
	if err != nil {
		return err
	}
	var parts []cdx.Component
	for _, m := range linked {
		url := "pkg:golang/" + m.Path + "@" + m.Version
		parts = append(parts, cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: url,
			Properties: &[]cdx.Property{{Name: "go:sum", Value: m.Sum}}})
	}
	for _, p := range packages {
		url := "pkg:npm/" + strings.Replace(p.Name, "@", "%40", 1) + "@" + p.Version
		parts = append(parts, cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: p.Name, Version: p.Version, PackageURL: url,
			Licenses: &cdx.Licenses{{License: &cdx.License{ID: p.License}}}})
	}
	doc := cdx.NewBOM()
	doc.Metadata = &cdx.Metadata{Timestamp: b.time.Format("2006-01-02T15:04:05Z"),
		Component: &cdx.Component{BOMRef: "detent", Type: cdx.ComponentTypeApplication, Name: "detent", Version: b.version,
			Licenses: &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}}}}
	doc.Components = &parts
	f, err := os.Create(b.file("detent_%s.cdx.json", b.version))
	if err != nil {
		return err
	}
	if err := cdx.NewBOMEncoder(f, cdx.BOMFileFormatJSON).SetPretty(true).Encode(doc); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
