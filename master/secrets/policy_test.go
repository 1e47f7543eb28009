package secrets_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/secrets"
)

const cluster = "6f3f0a4e-5f8e-4c5b-9d1e-2f7a3c1b0d9e"

func TestPolicy(t *testing.T) {
	got, err := secrets.Policy(cluster, secrets.Grant{
		Write: []secrets.Location{{Bucket: "ckpts", Prefix: "team/12"}},
		Read:  []secrets.Location{{Bucket: "ckpts", Prefix: "team/7/0a1b2c3d"}, {Bucket: "other", Prefix: "3"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"Version":"2012-10-17","Statement":[` +
		`{"Sid":"det6f3f0a4e5f8e4c5b9d1e2f7a3c1b0d9e","Effect":"Allow","Action":["s3:GetObject","s3:PutObject","s3:DeleteObject",` +
		`"s3:AbortMultipartUpload","s3:ListMultipartUploadParts"],"Resource":["arn:aws:s3:::ckpts/team/12/*"]},` +
		`{"Effect":"Allow","Action":["s3:GetObject"],"Resource":["arn:aws:s3:::ckpts/team/7/0a1b2c3d/*","arn:aws:s3:::other/3/*"]},` +
		`{"Effect":"Allow","Action":["s3:ListBucket"],"Resource":["arn:aws:s3:::ckpts"],` +
		`"Condition":{"StringLike":{"s3:prefix":["team/12/*","team/7/0a1b2c3d/*"]}}},` +
		`{"Effect":"Allow","Action":["s3:ListBucket"],"Resource":["arn:aws:s3:::other"],"Condition":{"StringLike":{"s3:prefix":["3/*"]}}}]}`
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if !json.Valid([]byte(got)) {
		t.Error("the policy is not JSON")
	}
}

// TestPolicyOfRemoval: a task that removes files of an experiment may list and remove files below that
// experiment's prefix only, and can neither read nor write.
func TestPolicyOfRemoval(t *testing.T) {
	got, err := secrets.Policy(cluster, secrets.Grant{Delete: []secrets.Location{{Bucket: "ckpts", Prefix: "team/12"}}})
	const want = `{"Version":"2012-10-17","Statement":[` +
		`{"Sid":"det6f3f0a4e5f8e4c5b9d1e2f7a3c1b0d9e","Effect":"Allow","Action":["s3:DeleteObject"],"Resource":["arn:aws:s3:::ckpts/team/12/*"]},` +
		`{"Effect":"Allow","Action":["s3:ListBucket"],"Resource":["arn:aws:s3:::ckpts"],"Condition":{"StringLike":{"s3:prefix":["team/12/*"]}}}]}`
	if err != nil || got != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
}

// TestPolicyOfNamesThatMeanMore: names with patterns or variables of policies are rejected.
func TestPolicyOfNamesThatMeanMore(t *testing.T) {
	for _, p := range []secrets.Location{
		{Bucket: "ckpts", Prefix: "*"}, {Bucket: "ckpts", Prefix: "team/*/12"}, {Bucket: "ckpts", Prefix: "team?/12"},
		{Bucket: "ckpts", Prefix: "${aws:username}/12"}, {Bucket: "ckpts", Prefix: `a"],"x/12`}, {Bucket: "ckpts", Prefix: "a\n/12"},
		{Bucket: "ckpts", Prefix: ""}, {Bucket: "ckpts", Prefix: "/12"}, {Bucket: "ckpts", Prefix: "12/"},
		{Bucket: "*", Prefix: "12"}, {Bucket: "", Prefix: "12"}, {Bucket: "ckpts/team", Prefix: "12"}, {Bucket: "a*", Prefix: "12"},
	} {
		for _, g := range []secrets.Grant{{Write: []secrets.Location{p}}, {Read: []secrets.Location{p}}, {Delete: []secrets.Location{p}}} {
			if got, err := secrets.Policy(cluster, g); !fault.Is(err, fault.Invalid) {
				t.Errorf("%+v: %v, %s", p, err, got)
			}
		}
	}
	if _, err := secrets.Policy(cluster, secrets.Grant{}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a grant of nothing: %v", err)
	}
}

// TestPolicyThatIsTooLong: a policy may have the full length that STS accepts, and not more.
func TestPolicyThatIsTooLong(t *testing.T) {
	longest := 0
	for n := 1; n < 1500; n++ {
		got, err := secrets.Policy(cluster, secrets.Grant{Write: []secrets.Location{{Bucket: "ckpts", Prefix: strings.Repeat("p", n)}}})
		if err == nil {
			longest = max(longest, len(got))
			continue
		}
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "STS accepts 2048") || !strings.Contains(err.Error(), "checkpoint_storage.prefix") {
			t.Fatalf("%d characters: %v", n, err)
		}
		break
	}
	if longest != 2048 && longest != 2047 { // each character of a prefix stands there twice
		t.Errorf("the longest policy has %d characters", longest)
	}
}
