package secrets

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
)

// maxPolicy is the maximum number of characters of a session policy in STS.
const maxPolicy = 2048

// A Location is the part of a bucket below a prefix.
type Location struct {
	Bucket string
	Prefix string // without slashes at its ends
}

// A Grant is the permissions of an attempt.
type Grant struct {
	Write  []Location // and read, list and delete
	Read   []Location // and list
	Delete []Location // and list
}

func (g Grant) nothing() bool { return len(g.Write)+len(g.Read)+len(g.Delete) == 0 }

type statement struct {
	Sid       string `json:",omitempty"`
	Effect    string
	Action    []string
	Resource  []string
	Condition map[string]any `json:",omitempty"`
}

type document struct {
	Version   string
	Statement []statement
}

const bucketARN = "arn:aws:s3:::"

var bucketName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$`)

// Policy is the policy of a role of this cluster. The identifier of its first statement names
// the cluster.
func Policy(clusterID string, g Grant) (string, error) {
	doc := document{Version: "2012-10-17"}
	var listed []Location
	add := func(locations []Location, actions ...string) error {
		if len(locations) == 0 {
			return nil
		}
		s := statement{Effect: "Allow", Action: actions}
		for _, p := range locations {
			if err := p.check(); err != nil {
				return err
			}
			s.Resource = append(s.Resource, bucketARN+p.Bucket+"/"+p.Prefix+"/*")
		}
		listed = append(listed, locations...)
		doc.Statement = append(doc.Statement, s)
		return nil
	}
	err := add(g.Write, "s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts")
	if err == nil {
		err = add(g.Read, "s3:GetObject")
	}
	if err == nil {
		err = add(g.Delete, "s3:DeleteObject")
	}
	if err != nil {
		return "", err
	}
	if len(listed) == 0 {
		return "", fault.New(fault.Invalid, "the role has no permissions")
	}
	doc.Statement = append(doc.Statement, lists(listed)...)
	doc.Statement[0].Sid = owner(clusterID)
	text, err := json.Marshal(doc)
	if err != nil {
		return "", err
	}
	if len(text) > maxPolicy {
		return "", fault.New(fault.Invalid, "the policy that limits its credentials to %s needs %d characters, and STS accepts %d: "+
			"shorten checkpoint_storage.prefix", describe(listed), len(text), maxPolicy)
	}
	return string(text), nil
}

// lists allows listing each location, with one statement for each bucket.
func lists(locations []Location) []statement {
	var out []statement
	at := map[string]int{}
	for _, p := range locations {
		i, ok := at[p.Bucket]
		if !ok {
			i = len(out)
			at[p.Bucket] = i
			out = append(out, statement{Effect: "Allow", Action: []string{"s3:ListBucket"}, Resource: []string{bucketARN + p.Bucket}})
		}
		prefixes, _ := out[i].Condition["StringLike"].(map[string][]string)
		out[i].Condition = map[string]any{"StringLike": map[string][]string{"s3:prefix": append(prefixes["s3:prefix"], p.Prefix+"/*")}}
	}
	return out
}

// check rejects characters with a special meaning in policies: a star, a question mark or a
// variable in a name would give access to other locations.
func (p Location) check() error {
	switch {
	case !bucketName.MatchString(p.Bucket):
		return fault.New(fault.Invalid, "checkpoint_storage.bucket: %q is not the name of a bucket", p.Bucket)
	case p.Prefix == "" || p.Prefix != strings.Trim(p.Prefix, "/"):
		return fault.New(fault.Invalid, "checkpoint_storage.prefix: %q must not be empty or end with /", p.Prefix)
	case strings.ContainsAny(p.Prefix, `*?$"\`):
		return fault.New(fault.Invalid, "checkpoint_storage.prefix: %q contains one of * ? $ \" \\, which have a special meaning in policies of S3; choose another prefix", p.Prefix)
	}
	for _, r := range p.Prefix {
		if r < ' ' || r == 0x7f {
			return fault.New(fault.Invalid, "checkpoint_storage.prefix: %q contains a control character", p.Prefix)
		}
	}
	return nil
}

func describe(locations []Location) string {
	names := each.Of(locations, func(p Location) string { return "s3://" + p.Bucket + "/" + fault.ClipTo(p.Prefix, 60) })
	if len(names) > 2 {
		names = append(names[:2], "more")
	}
	return strings.Join(names, ", ")
}

// owner is the cluster's id in a form that policies allow: only letters and digits.
func owner(clusterID string) string {
	return "det" + strings.ReplaceAll(clusterID, "-", "")
}

// ownerOf returns the cluster in a policy; "" if Detent did not write the policy.
func ownerOf(policy string) string {
	var doc document
	if json.Unmarshal([]byte(policy), &doc) != nil || len(doc.Statement) == 0 {
		return ""
	}
	return doc.Statement[0].Sid
}
