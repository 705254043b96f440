package view

// Legend says how the human view reads, for help texts.
const Legend = `How it reads:
  OLD NEW      the sizes that the old ReplicaSets and the new one are to have
  AVAIL        available pods / pods that must stay available
  WHO          you, a controller (deployment, replicaset), scheduler, kubelet
  BECAUSE      the decision's arithmetic, or the rule that chose this pod
  + - gone     a pod is made, is asked to go, is no longer there
  bind ready   a pod gets its node, passes its readiness probe
  hold         a decision to do nothing
  in N steps, + N more pods
               lines folded into one: see --detail and --max-pod-lines
  PLAN         of a real rollout: how much later or earlier than planned
Colours tell old, new, good and bad, and are never the only sign.`
