# fish completion for evctl and all its programs. Everything comes from `PROGRAM --complete`.
function __evctl_complete
    set -l words (commandline -opc)
    set -l program $words[1]
    set -l now (commandline -ct)
    for line in ($program --complete $words[2..-1] "$now" 2>/dev/null)
        switch $line
            case ':file'
                __fish_complete_path "$now"
            case ':dir'
                __fish_complete_directories "$now"
            case '*'
                echo $line
        end
    end
end

for program in evctl evctl-{apply,artifact,bind,conn,cred,doctor,expert,host,log,mcp,run,session,state,verify}
    complete -c $program -f -a '(__evctl_complete)'
end
