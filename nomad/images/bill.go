package images

import (
	"archive/zip"
	"bufio"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// bill writes the bill of materials: Debian's packages and the wheels, with their licences where a wheel names them.
func (r Recipe) bill(out io.Writer, work, tag string, lock Lock) error {
	parts, err := debianParts(filepath.Join(work, "debian.tsv"))
	if err != nil {
		return err
	}
	licences, err := licences(filepath.Join(work, "wheels"))
	if err != nil {
		return err
	}
	for _, w := range lock.Wheels {
		url := "pkg:pypi/" + w.Name + "@" + w.Version
		part := cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: w.Name, Version: w.Version, PackageURL: url,
			Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: w.SHA256}}}
		if name := licences[w.Name]; name != "" {
			part.Licenses = &cdx.Licenses{{License: &cdx.License{Name: name}}}
		}
		parts = append(parts, part)
	}
	doc := cdx.NewBOM()
	doc.Metadata = &cdx.Metadata{Timestamp: lock.Made.Format(time.RFC3339),
		Component: &cdx.Component{BOMRef: r.Name, Type: cdx.ComponentTypeContainer, Name: r.Name, Version: tag, Description: r.Title}}
	doc.Components = &parts
	return cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(doc)
}

// debianParts reads the list that finish.sh has written.
func debianParts(list string) ([]cdx.Component, error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	var parts []cdx.Component
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 4 {
			return nil, fmt.Errorf("%s: %q has %d fields, and must have 4", list, line, len(f))
		}
		url := fmt.Sprintf("pkg:deb/debian/%s@%s?arch=%s&distro=%s", f[0], f[1], f[2], release)
		parts = append(parts, cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: f[0], Version: f[1], PackageURL: url,
			Properties: &[]cdx.Property{{Name: "debian:source", Value: f[3]}}})
	}
	return parts, nil
}

// licences returns the licence that each wheel in a folder names, by its package.
func licences(dir string) (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, file := range files {
		name, licence, err := licenceOf(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		found[name] = licence
	}
	return found, nil
}

func licenceOf(wheel string) (name, licence string, err error) {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return "", "", err
	}
	defer z.Close()
	for _, f := range z.File {
		if dir, base, _ := strings.Cut(f.Name, "/"); base != "METADATA" || !strings.HasSuffix(dir, ".dist-info") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return "", "", err
		}
		defer r.Close()
		h, err := textproto.NewReader(bufio.NewReader(io.LimitReader(r, 1<<20))).ReadMIMEHeader()
		if len(h) == 0 && err != nil {
			return "", "", err
		}
		return normal(h.Get("Name")), licenceIn(h), nil
	}
	return "", "", fmt.Errorf("the wheel has no METADATA")
}

// licenceIn is the licence in a wheel's metadata: an expression, the last word of a classifier, or a short text.
func licenceIn(h textproto.MIMEHeader) string {
	if said := h.Get("License-Expression"); said != "" {
		return said
	}
	for _, c := range h.Values("Classifier") {
		if strings.HasPrefix(c, "License :: ") {
			return c[strings.LastIndex(c, ":")+2:]
		}
	}
	if said := h.Get("License"); len(said) < 100 {
		return said
	}
	return ""
}
