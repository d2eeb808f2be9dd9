package house_test

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// meta is what each object of Kubernetes has.
type meta struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct{ Name string }
}

// cronJob is a CronJob of batch/v1, with the fields that the documentation uses, by their names in the API.
type cronJob struct {
	meta `yaml:",inline"`
	Spec struct {
		Schedule          string
		ConcurrencyPolicy string `yaml:"concurrencyPolicy"`
		JobTemplate       struct {
			Spec struct {
				BackoffLimit *int `yaml:"backoffLimit"`
				Template     struct {
					Metadata struct{ Labels map[string]string }
					Spec     struct {
						ServiceAccountName string `yaml:"serviceAccountName"`
						RestartPolicy      string `yaml:"restartPolicy"`
						Containers         []struct {
							Name, Image string
							Args        []string
							Env         []struct{ Name, Value string }
						}
					}
				}
			}
		} `yaml:"jobTemplate"`
	}
}

// scaledObject is a ScaledObject of keda.sh/v1alpha1.
type scaledObject struct {
	meta `yaml:",inline"`
	Spec struct {
		ScaleTargetRef  struct{ Name string } `yaml:"scaleTargetRef"`
		MinReplicaCount *int                  `yaml:"minReplicaCount"`
		MaxReplicaCount *int                  `yaml:"maxReplicaCount"`
		CooldownPeriod  *int                  `yaml:"cooldownPeriod"`
		Triggers        []struct {
			Type              string
			Metadata          map[string]string     // KEDA takes texts only
			AuthenticationRef struct{ Name string } `yaml:"authenticationRef"`
		}
	}
}

// triggerAuthentication is a TriggerAuthentication of keda.sh/v1alpha1.
type triggerAuthentication struct {
	meta `yaml:",inline"`
	Spec struct {
		PodIdentity struct{ Provider string } `yaml:"podIdentity"`
	}
}

// TestManifests: the objects of Kubernetes in the documentation are YAML with fields that their kinds have, and with those that they need.
func TestManifests(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, page := range pages {
		for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(read(t, page), -1) {
			for _, text := range strings.Split(block[1], "\n---\n") {
				kind, err := checkManifest(text)
				if err != nil {
					t.Errorf("%s: %v in\n%s", page, err, text)
				}
				kinds[kind]++
			}
		}
	}
	if kinds["CronJob"] < 2 || kinds["ScaledObject"] < 1 || kinds["TriggerAuthentication"] < 1 {
		t.Errorf("got objects %v; want two CronJobs, a ScaledObject and its TriggerAuthentication", kinds)
	}
	for _, bad := range []string{"a: [", "kind: CronJob\napiVersion: batch/v1\nmetadata: {name: x}\nspec: {schdule: x}", "kind: CronJob\napiVersion: batch/v1\nmetadata: {name: x}\nspec: {schedule: '* * *'}", "kind: CronJob\napiVersion: batch/v1\nmetadata: {name: x}\nspec: {schedule: a b c d e}",
		"kind: ScaledObject\napiVersion: keda.sh/v1alpha1\nmetadata: {name: x}\nspec: {minReplicaCount: many}", "kind: Pod"} {
		if _, err := checkManifest(bad); err == nil {
			t.Errorf("got no error for\n%s", bad)
		}
	}
}

var isSchedule = regexp.MustCompile(`^([0-9*/,-]+ ){4}[0-9*/,-]+$`)

// checkManifest returns the kind of an object, and what is wrong with it.
func checkManifest(text string) (kind string, err error) {
	var m meta
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		return "", err
	}
	strict := func(into any) error {
		d := yaml.NewDecoder(bytes.NewReader([]byte(text)))
		d.KnownFields(true)
		if err := d.Decode(into); err != nil {
			return err
		}
		if err := d.Decode(&meta{}); !errors.Is(err, io.EOF) {
			return errors.New("there is more than one object")
		}
		return nil
	}
	switch {
	case m.Metadata.Name == "":
		return m.Kind, errors.New("it has no name")
	case m.Kind == "CronJob" && m.APIVersion == "batch/v1":
		var c cronJob
		if err := strict(&c); err != nil {
			return m.Kind, err
		}
		pod := c.Spec.JobTemplate.Spec.Template.Spec
		if !isSchedule.MatchString(c.Spec.Schedule) || !slices.Contains([]string{"Allow", "Forbid", "Replace"}, c.Spec.ConcurrencyPolicy) || len(pod.Containers) == 0 || pod.RestartPolicy != "OnFailure" && pod.RestartPolicy != "Never" {
			return m.Kind, errors.New("a CronJob needs a schedule of five fields, a container and a restartPolicy of jobs")
		}
	case m.Kind == "ScaledObject" && m.APIVersion == "keda.sh/v1alpha1":
		var s scaledObject
		if err := strict(&s); err != nil {
			return m.Kind, err
		}
		for _, trigger := range s.Spec.Triggers {
			if trigger.Type != "azure-queue" {
				return m.Kind, errors.New("the trigger " + trigger.Type + " is not known here")
			}
			if trigger.Metadata["queueName"] == "" || trigger.Metadata["accountName"] == "" {
				return m.Kind, errors.New("the scaler azure-queue needs queueName and accountName")
			}
		}
		if s.Spec.ScaleTargetRef.Name == "" || len(s.Spec.Triggers) == 0 {
			return m.Kind, errors.New("a ScaledObject needs a target and a trigger")
		}
	case m.Kind == "TriggerAuthentication" && m.APIVersion == "keda.sh/v1alpha1":
		var a triggerAuthentication
		return m.Kind, strict(&a)
	default:
		return m.Kind, errors.New("its kind and version are not known here")
	}
	return m.Kind, nil
}
