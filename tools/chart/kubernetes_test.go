package chart_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
)

// objects are the documents as Kubernetes reads them, which refuses unknown fields. A
// ServiceMonitor is of Prometheus' operator, and is not among them.
func objects(t *testing.T, text string) []runtime.Object {
	t.Helper()
	decode := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer().Decode
	var all []runtime.Object
	for doc := range strings.SplitSeq("\n"+text, "\n---\n") {
		if strings.TrimSpace(doc) == "" || strings.Contains(doc, "kind: ServiceMonitor") {
			continue
		}
		o, _, err := decode([]byte(doc), nil, nil)
		if err != nil {
			t.Errorf("%v:\n%s", err, doc)
			continue
		}
		all = append(all, o)
	}
	return all
}

// pods are the templates of pods, by kind.
func pods(all []runtime.Object) map[string]corev1.PodTemplateSpec {
	found := map[string]corev1.PodTemplateSpec{}
	for _, o := range all {
		switch o := o.(type) {
		case *appsv1.Deployment:
			found["Deployment"] = o.Spec.Template
		case *appsv1.StatefulSet:
			found["StatefulSet"] = o.Spec.Template
		case *batchv1.Job:
			found["Job"] = o.Spec.Template
		}
	}
	return found
}

func TestPodsHaveFewRights(t *testing.T) {
	t.Parallel()
	secret := regexp.MustCompile(`(?i)(password|secret|_key(s_\d+)?)$`)
	for name, values := range cases(t) {
		for kind, pod := range pods(objects(t, documents(t, values))) {
			s := pod.Spec
			if sc := s.SecurityContext; sc == nil || sc.RunAsNonRoot == nil || !*sc.RunAsNonRoot || sc.SeccompProfile == nil || sc.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
				t.Errorf("values %s: the pod of the %s runs with too many rights", name, kind)
			}
			if s.AutomountServiceAccountToken == nil || *s.AutomountServiceAccountToken {
				t.Errorf("values %s: the pod of the %s has a key of Kubernetes", name, kind)
			}
			for _, c := range slices.Concat(s.InitContainers, s.Containers) {
				sc := c.SecurityContext
				if sc == nil || *sc.AllowPrivilegeEscalation || !slices.Contains(sc.Capabilities.Drop, "ALL") || !*sc.ReadOnlyRootFilesystem && c.Name != "agent-server" {
					t.Errorf("values %s: the container %s runs with too many rights", name, c.Name)
				}
				for _, v := range c.Env {
					if secret.MatchString(v.Name) && v.Value != "" {
						t.Errorf("values %s: the variable %s of %s has a value, not a reference", name, v.Name, c.Name)
					}
				}
			}
		}
	}
}

// TestARollingDeployBreaksNoStream looks at what Kubernetes does when it replaces pods.
func TestARollingDeployBreaksNoStream(t *testing.T) {
	t.Parallel()
	for name, values := range cases(t) {
		for _, o := range objects(t, documents(t, values)) {
			d, ok := o.(*appsv1.Deployment)
			if !ok {
				continue
			}
			s := d.Spec.Template.Spec
			if r := d.Spec.Strategy.RollingUpdate; r.MaxUnavailable.IntValue() != 0 || r.MaxSurge.IntValue() != 1 {
				t.Errorf("values %s: %d pods are missing and %d are added in a deploy", name, r.MaxUnavailable.IntValue(), r.MaxSurge.IntValue())
			}
			if *s.TerminationGracePeriodSeconds != 610 || s.Containers[0].Lifecycle.PreStop.Sleep.Seconds != 5 || !slices.Contains(s.Containers[0].Args, "590s") {
				t.Errorf("values %s: a pod ends within %d s", name, *s.TerminationGracePeriodSeconds)
			}
			if s.Containers[0].ReadinessProbe.HTTPGet.Path != "/readyz" || s.Containers[0].LivenessProbe.HTTPGet.Path != "/healthz" {
				t.Errorf("values %s: the probes ask for other paths", name)
			}
		}
	}
}

// TestAgentsAreReachedByGatewaysOnly follows the labels of the policies.
func TestAgentsAreReachedByGatewaysOnly(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"default", "large"} {
		all := objects(t, documents(t, cases(t)[name]))
		templates := pods(all)
		agents, gateway := templates["StatefulSet"].Labels, templates["Deployment"].Labels
		found := false
		for _, o := range all {
			p, ok := o.(*networkingv1.NetworkPolicy)
			if !ok || !chooses(p.Spec.PodSelector.MatchLabels, agents) {
				continue
			}
			found = true
			for _, rule := range p.Spec.Ingress {
				for _, from := range rule.From {
					if len(rule.From) != 1 || !chooses(from.PodSelector.MatchLabels, gateway) || chooses(from.PodSelector.MatchLabels, agents) {
						t.Errorf("values %s: agents are reached by %v", name, from)
					}
				}
			}
			if len(p.Spec.Ingress) != 1 || len(p.Spec.Ingress[0].From) != 1 {
				t.Errorf("values %s: agents are reached by everybody", name)
			}
		}
		if !found {
			t.Errorf("values %s: agents have no policy", name)
		}
	}
}

// chooses reports whether a selector is for pods with those labels.
func chooses(selector, labels map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return len(selector) > 0
}
