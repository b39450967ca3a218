# Checks of the source itself, run by ctest beside the unit tests.

find_program(PYTHON3 python3 REQUIRED)
add_test(NAME layers COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/tools/check_layers.py)
add_test(NAME layers_check_finds_what_is_planted
    COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/tools/check_layers_test.py)
add_test(NAME log_modules COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/tools/check_log_modules.py)
add_test(NAME errors_are_the_same_everywhere
    COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/tools/check_errors.py)
add_test(NAME roles_are_the_same_everywhere
    COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/tools/check_roles.py)
add_test(NAME roles_check_finds_what_is_planted
    COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/tools/check_roles_test.py)
set_tests_properties(layers layers_check_finds_what_is_planted log_modules
    roles_check_finds_what_is_planted
    errors_are_the_same_everywhere roles_are_the_same_everywhere PROPERTIES LABELS unit)
