# Nodes, three ZooKeeper servers and a store in virtual time, with faults by seed. The linker puts
# planted mistakes in the core's place, where one is asked for.
add_executable(ha_simulation
    sim_base.c
    sim_client.c
    sim_fault_link.c
    sim_fault_process.c
    sim_fault_server.c
    sim_faults.c
    sim_judge.c
    sim_main.c
    sim_node.c
    sim_peers.c
    sim_plant.c
    sim_store.c
    sim_world.c
    sim_zk.c
    sim_zk_conn.c
    sim_zk_election.c
    sim_zk_link.c
    sim_zk_log.c
    sim_zk_request.c
    sim_zk_session.c)
target_link_libraries(ha_simulation PRIVATE dueq_flags dueq_ha dueq_ha_fake)
foreach(name ask_write failsafe_has_promised ha_may_act write_lease_until)
    target_link_options(ha_simulation PRIVATE -Wl,--wrap=${name})
endforeach()
set_target_properties(ha_simulation PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

# A sanitizer makes it ten times slower, and looks at other things than the seed does. For longer:
# ./dev drill simulation
if(DUEQ_SANITIZE)
    set(runs 150)
else()
    set(runs 4000)
endif()
add_test(NAME ha_simulation COMMAND ha_simulation --runs ${runs})
set_tests_properties(ha_simulation PROPERTIES COST 20 LABELS unit)
foreach(mistake
        eof-is-death
        forgets-promise
        no-fence
        no-fence-jobs
        no-step-down
        ping-lease
        write-lease
    )
    add_test(NAME ha_simulation_finds_${mistake}
        COMMAND ha_simulation --plant ${mistake} --runs 4000)
    set_tests_properties(ha_simulation_finds_${mistake} PROPERTIES LABELS unit)
endforeach()
