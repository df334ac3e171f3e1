# What is to be done next with a pod, as one word. A pod is in exactly one step, so no
# two stages ever compete for it. bind writes bind-phase "allocating", and the device
# plugin "success" or "failed": there kubelet would ask the plugin.
def passed($init; $shown):
  if $init.restartPolicy == "Always" then $shown.state | has("running") or has("terminated")
  else $shown.state | has("terminated") end;
(.metadata.annotations["hami.io/bind-phase"] // "success") as $bind
| (.spec.initContainers // []) as $inits
| (.status.initContainerStatuses // []) as $shown
| ([range($inits | length)
    | select(passed($inits[.]; $shown[.] // {"state": {}}) | not)][0]) as $next
| if .metadata.deletionTimestamp != null then "remove"
  elif (.spec.nodeName // "") == "" or .status.phase == "Succeeded" or .status.phase == "Failed"
  then "nothing"
  elif $bind == "failed" then "fail"
  elif $bind != "success" then "nothing"
  elif $next != null then
    if $shown[$next].state.running != null then "end-init" else "start-init" end
  elif any(.status.containerStatuses[]?; .state.running != null) then
    if .spec.restartPolicy == "Always" then "nothing" else "complete" end
  else "start-apps" end
